"""A file of each localisation format, with what such files have."""

JSON = """{
  "greeting": "Hello {{name}}!",   "n": 3, "on": true,
  "file_one": "{{count}} file", "file_other": "{{count}} files",
  "menu": {"open": "Open", "list": ["One", "Two \\u00e9"]},
  "icu": "You have {count, plural, one {# file} other {# files}} in {folder}."
}
"""
ARB = """{"@@locale": "en", "hello": "Hello {name}", "@hello": {"description": "A greeting", "placeholders": {}}}"""
ANDROID = """<?xml version="1.0" encoding="utf-8"?>
<resources xmlns:xliff="urn:oasis:names:tc:xliff:document:1.2">
    <!-- <string name="old">Old</string> -->
    <string name="app" translatable="false">Brand</string>
    <string name='a'   >Don\\'t open %1$s in <b>two</b> windows\\nat <xliff:g id="t">%2$s</xliff:g></string>
    <string name="b">Fish &amp; chips\\nfor &lt;i&gt;%d&lt;/i&gt;</string>
    <string name="ref">@string/app</string>
    <string name="raw"><![CDATA[Some words]]></string>
    <string-array name="days"><item>Monday</item></string-array>
    <plurals name="files"><item quantity="one">%d file</item><item quantity="other">%d files</item></plurals>
</resources>
"""
PROPERTIES = """# A comment: stays
key.one = Open the file
! another
key.two: First \\
    second third
path\\ name=caf\\u00e9 {0}, it''s
empty=
"""
STRINGS = """/* A "comment" = "x"; */
"hello" = "Hello \\"%@\\"\\nNow";
// line
bare_key="Quit";
"""
STRINGSDICT = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0"><dict><key>n</key><dict>
<key>NSStringLocalizedFormatKey</key><string>You see %#@files@</string>
<key>files</key><dict><key>NSStringFormatSpecTypeKey</key><string>NSStringPluralRuleType</string>
<key>one</key><string>%d file</string><key>other</key><string>%d files &amp; more</string></dict></dict></dict></plist>
"""
QT = """<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1">
<context><name>Main</name>
<message><source>&amp;Open &quot;%1&quot;</source><translation type="unfinished"></translation></message>
<message><source>Quit</source><translation>Quitter</translation></message>
<message><source>Half</source><translation type="unfinished">Moitié</translation></message>
<message numerus="yes"><source>%n file(s)</source>
<translation type="unfinished"><numerusform></numerusform><numerusform/></translation></message>
</context></TS>
"""
RAILS = """# Texts
en:
  hello: "Hello %{name}"   # a comment
  plain: Open the file
  'single': 'it''s open'
  yes_no: [Yes, "No, never"]
  number: 3
  flag: true
  date:
    formats: {default: "%Y-%m-%d"}
    order:
      - :year
  long: |
    First line
    second line
  folded: >-
    One folded
    sentence.
  anchor: &a Words
  again: *a
"""
PO = """# Translators: somebody.
msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\\n"
"Plural-Forms: nplurals=2; plural=(n > 1);\\n"

#. A comment for translators
#: main.c:12
#, c-format
msgctxt "menu"
msgid "Open %s in <b>two</b> windows"
msgstr ""

msgid "Done"
msgstr "Fini"

#, fuzzy
msgid "Half done"
msgstr "À moitié"

#, python-format
msgid "%(count)d file"
msgid_plural "%(count)d files"
msgstr[0] ""
msgstr[1] ""

msgid ""
"First line\\n"
"\\n"
"{name} and ${value}\\n"
msgstr ""

#~ msgid "Old"
#~ msgstr "Vieux"
"""
XLIFF = """<?xml version="1.0" encoding="UTF-8"?>
<xliff xmlns="urn:oasis:names:tc:xliff:document:1.2" version="1.2">
  <file original="a" source-language="en" datatype="plaintext"><body>
    <trans-unit id="1"><source>I <g id="b">lost</g> my <x id="i"/> keys, %s.</source><note>a note</note></trans-unit>
    <trans-unit id="2" translate="no"><source>Brand</source></trans-unit>
    <trans-unit id="3" approved="yes"><source>Done</source><target>Fini</target></trans-unit>
    <trans-unit id="4"><source>Started</source><target state="new">Commencé</target></trans-unit>
    <group translate="no"><trans-unit id="5"><source>In a group</source></trans-unit></group>
    <trans-unit id="6"><source>Call <mrk mtype="protected">open()</mrk>
      <bpt id="1">&lt;b&gt;</bpt>now<ept id="1">&lt;/b&gt;</ept></source><target/></trans-unit>
  </body></file>
</xliff>
"""
XLIFF_2 = """<?xml version="1.0" encoding="UTF-8"?>
<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" version="2.0" srcLang="en">
  <file id="f"><unit id="1"><segment id="s"><source>I <pc id="1">lost</pc><ph id="2"/> it.</source></segment>
  <segment state="final"><source>Final</source><target>Final !</target></segment></unit>
  <unit id="2" translate="no"><segment><source>Brand</source></segment></unit></file>
</xliff>
"""
ONE_MESSAGE = {
    "a.json": '{"a": "Open %s now"}',
    "a.arb": '{"a": "Open %s now"}',
    "a.properties": "a=Open %s now",
    "a.strings": '"a" = "Open %s now";',
    "strings.xml": "<resources><string>Open %s now</string></resources>",
    "a.stringsdict": "<plist><key>one</key><string>Open %s now</string></plist>",
    "a.ts": '<TS language="fr"><message><source>Open %s now</source>'
    '<translation type="unfinished"></translation></message></TS>',
    "a.yml": 'fr: {a: "Open %s now"}',
    "a.po": 'msgid "Open %s now"\nmsgstr ""\n',
    "a.xlf": '<xliff xmlns="urn:oasis:names:tc:xliff:document:1.2" version="1.2"><file target-language="fr"><body>'
    '<trans-unit id="1"><source>Open %s now</source></trans-unit></body></file></xliff>',
}
