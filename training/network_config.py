"""The network of a recipe: the keys of both architectures with their meaning and their limits."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator


class Section(BaseModel):
    """A section of a recipe: unknown keys are refused, and values never change."""

    model_config = ConfigDict(extra="forbid", frozen=True)


REACH = 16
"""The largest distance that relative positions tell from longer ones; in the paper, too (1803.02155, section 4.1)."""


class TransformerConfig(Section):
    """arXiv 1706.03762, section 3."""

    kind: Literal["transformer"]
    encoder_layers: int = Field(6, ge=1)
    decoder_layers: int = Field(6, ge=1)
    width: int = Field(512, ge=8)
    """d_model."""
    heads: int = Field(8, ge=1)
    feed_forward: int = Field(2048, ge=1)
    """d_ff."""
    decoder: Literal["attention", "ssru"] = "attention"
    """The past of the target: self-attention as in the paper, or a recurrent unit (Kim et al. 2019, D19-5632), whose
    state does not grow with the translation."""
    dropout: float = Field(0.1, ge=0, lt=1)
    """After each sub-layer and after embeddings plus positions (section 5.4)."""
    attention_dropout: float = Field(0.0, ge=0, lt=1)
    """On attention weights (not in the paper's text, in its code)."""
    activation_dropout: float = Field(0.0, ge=0, lt=1)
    """Inside the feed-forward network (not in the paper's text, in its code)."""
    norm: Literal["pre", "post"] = "post"
    """The position of LayerNorm: after the residual sum as in the paper, or before the sub-layer."""
    norm_epsilon: float = Field(1e-5, gt=0, lt=0.1)
    """Added to the variance in every LayerNorm."""
    activation: Literal["relu", "swish", "gelu"] = "relu"
    """Between the two products of the feed-forward network; Marian's default is ``swish`` (x · sigmoid(x))."""
    positions: Literal["interleaved", "halves", "marian", "none", "learned", "relative", "directional"] = "interleaved"
    """The layout of the sinusoids of section 3.5: sine and cosine alternate as in the paper; or the first half has the
    sines and the second half the cosines (transformers' MarianMT, CTranslate2); or the same with Marian's rates, which
    are spread over d / 2 - 1 steps instead of d / 2. ``none``: no positions, the encoder sees a bag of words.
    ``learned``: a table of parameters (section 3.5). The last two leave the encoder's embeddings as they are, and the
    decoder with the paper's sinusoids: ``relative`` adds to each encoder score the product of the query with a vector
    of the distance (Shaw et al. 2018, 1803.02155, keys only); ``directional`` lets half of the encoder's heads see no
    later position and the other half no earlier one (the masks of Shen et al. 2018, 1709.04696)."""
    scale_embedding: bool = True
    """Multiply embeddings by √d (section 3.4)."""
    share_embeddings: bool = True
    """One table for source, target and output (section 3.4); otherwise the source has its own table."""
    tie_output: bool = True
    """The output layer has the target's table (section 3.4); otherwise each of the three has its own."""

    @model_validator(mode="after")
    def _heads_divide_width(self) -> TransformerConfig:
        if self.width % self.heads:
            raise ValueError(f"width {self.width} must be a multiple of heads {self.heads}")
        if self.positions == "directional" and self.heads % 2:
            raise ValueError(f"positions directional needs an even number of heads, not {self.heads}")
        if self.share_embeddings and not self.tie_output:
            raise ValueError("tie_output: false needs share_embeddings: false")
        return self

    @property
    def encoder_adds_positions(self) -> bool:
        """Return whether the encoder adds a table to its embeddings; otherwise its attention knows the order."""
        return self.positions not in ("relative", "directional")


class BahdanauConfig(Section):
    """arXiv 1409.0473, appendix A, and common variants."""

    kind: Literal["bahdanau"]
    embedding: int = Field(620, ge=4)
    encoder_hidden: int = Field(1000, ge=4)
    """Units of one direction."""
    decoder_hidden: int = Field(1000, ge=4)
    attention_size: int = Field(1000, ge=4)
    """Width of the alignment model's hidden layer."""
    output_size: int = Field(500, ge=4)
    """Width after maxout in the deep output layer; with ``tie_embeddings`` it must equal ``embedding``."""
    cell: Literal["gru", "lstm"] = "gru"
    conditional: bool = False
    """Read the previous word before attention (Nematus' conditional GRU, 1703.04357), so that attention depends on it;
    in the paper, attention comes first. Only for a GRU with one decoder layer."""
    encoder: Literal["recurrent", "convolutional"] = "recurrent"
    """``convolutional``: layers x + tanh(convolution of x), without positions (after Gehring et al. 2017, 1611.02344).
    Its outputs are as wide as those of the recurrent encoder with the same keys."""
    kernel: int = Field(3, ge=1)
    """Positions that a convolution reads, an odd number."""
    encoder_layers: int = Field(1, ge=1)
    decoder_layers: int = Field(1, ge=1)
    bidirectional: bool = True
    start: Literal["bridge", "copy"] = "bridge"
    """The decoder's first state: tanh(W h) of the encoder's top layer, in its lowest layer only (appendix A.2.2); or
    ``copy``: every layer begins with the final state of the encoder's layer of the same number (d2l.ai)."""
    score: Literal["additive", "dot", "general", "concat", "scaled_dot", "gaussian"] = "additive"
    """``concat`` is linear; the function that 1508.04025 calls so is ``additive``. ``gaussian`` is -‖q - k‖² / 2."""
    attention: Literal["global", "local", "monotonic", "hard", "none"] = "global"
    """``local`` and ``monotonic`` are local-p and local-m of arXiv 1508.04025: the centre of the window is predicted,
    or it is the number of the step. ``none`` is the plain encoder–decoder with one fixed context."""
    window: int = Field(10, ge=1)
    """D of local and monotonic attention: positions on each side of the centre."""
    hard_gradient: Literal["straight_through", "reinforce"] = "straight_through"
    """The gradient of hard attention: straight-through Gumbel-softmax (1611.01144), or REINFORCE with a baseline
    (Xu et al. 2015, 1502.03044, section 4.1)."""
    soft_until: float = Field(0.75, ge=0, le=1)
    """REINFORCE: a step of training uses the expectation, which is soft attention, with a probability that falls from 1
    to 0 over this share of the updates. (In the paper it is 0.5 all along.)"""
    reinforce_weight: float = Field(0.1, ge=0)
    """The factor of REINFORCE's part of the gradient (λ_r of the paper); its noise would otherwise fill the clipped
    norm."""
    entropy_weight: float = Field(0.01, ge=0)
    """REINFORCE: the reward of the entropy of the choices, in nats, so that sampling does not end too early."""
    output: Literal["deep", "linear"] = "deep"
    """``deep``: maxout over state, word and context before the logits (appendix A.2.2). ``linear``: logits of the state
    alone (d2l.ai); ``output_size`` is then not used."""
    dropout: float = Field(0.2, ge=0, lt=1)
    """On embeddings, encoder outputs and the deep output layer."""
    layer_dropout: float = Field(0.0, ge=0, lt=1)
    """Between the layers of encoder and decoder."""
    embedding_deviation: float | None = Field(None, gt=0)
    """The standard deviation of the first embeddings; by default 1 / √embedding. With 1, as in d2l.ai, few updates
    teach more."""
    tie_embeddings: bool = False
    """Share source, target and output embeddings (needs a joint vocabulary)."""

    @property
    def memory_size(self) -> int:
        """Return the width of the encoder's outputs."""
        return self.encoder_hidden * (2 if self.bidirectional else 1)

    @property
    def logits_size(self) -> int:
        """Return the width of the output layer's input."""
        return self.output_size if self.output == "deep" else self.decoder_hidden

    @model_validator(mode="after")
    def _sizes_fit(self) -> BahdanauConfig:
        name = "output_size" if self.output == "deep" else "decoder_hidden (output linear)"
        if self.tie_embeddings and self.logits_size != self.embedding:
            raise ValueError(f"tie_embeddings needs {name} {self.logits_size} == embedding {self.embedding}")
        if self.conditional and (self.cell != "gru" or self.decoder_layers != 1):
            raise ValueError("conditional needs cell gru and decoder_layers 1")
        squared = self.score in ("dot", "scaled_dot", "gaussian")
        if self.attention != "none" and squared and self.memory_size != self.decoder_hidden:
            raise ValueError(f"score {self.score} needs encoder outputs ({self.memory_size}) == decoder_hidden")
        return self

    @model_validator(mode="after")
    def _parts_fit(self) -> BahdanauConfig:
        if self.encoder == "convolutional" and self.kernel % 2 == 0:
            raise ValueError(f"kernel {self.kernel} must be odd, so that a position is in the middle")
        if self.start == "bridge":
            return self
        if self.encoder == "convolutional":
            raise ValueError("start copy needs encoder recurrent: a convolution has no final state")
        if self.encoder_layers != self.decoder_layers or self.memory_size != self.decoder_hidden:
            raise ValueError(
                f"start copy needs encoder_layers ({self.encoder_layers}) == decoder_layers ({self.decoder_layers}) "
                f"and encoder outputs ({self.memory_size}) == decoder_hidden ({self.decoder_hidden})"
            )
        return self
