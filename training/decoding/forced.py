"""Cross-attention over given translations, by teacher forcing (forced decoding)."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from service.bundle.vocabulary import EOS
from training.data.batching import collate
from training.decoding.batches import evaluating, length_groups
from training.networks.build import Network


def cross_attention(
    network: Network, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]
) -> list[npt.NDArray[np.float32]]:
    """Return the attention [L, H, T, S] of each pair; row t belongs to the step that produces token t.

    Ids have no end tokens on either side; T and S count them.
    """
    by_sentence: dict[int, npt.NDArray[np.float32]] = {}
    with evaluating(network) as device:
        for group in length_groups([max(pair, key=len) for pair in zip(sources, targets, strict=True)]):
            closed = [[np.array([*side[i], EOS], np.uint16) for i in group] for side in (sources, targets)]
            batch = collate(closed[0], closed[1]).to(device)
            decoded = network.decode(batch.target_in, network.encode(batch.source, batch.source_lengths))
            weights = decoded.cross_attention.float().cpu().numpy()
            for row, index in enumerate(group):
                by_sentence[index] = weights[row, :, :, : len(targets[index]) + 1, : len(sources[index]) + 1]
    return [by_sentence[index] for index in range(len(sources))]
