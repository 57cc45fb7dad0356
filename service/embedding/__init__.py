"""Sentence embeddings by structured self-attention (arXiv 1703.03130): a small model beside the translators."""

from service.embedding.embedder import Embedded as Embedded
from service.embedding.embedder import Embedder as Embedder
from service.embedding.embedder import TextTooLong as TextTooLong
from service.embedding.embedder import embedder_in as embedder_in
