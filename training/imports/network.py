"""An imported model as our PyTorch network, which its graphs are compared with where PyTorch is installed."""

from pathlib import Path

import torch

from training.export.trained import NetworkOriginal
from training.imports.bundle import ImportOptions, write_import
from training.imports.source import ImportedModel
from training.networks.build import Network, build_network


def network_of(model: ImportedModel) -> Network:
    """Return our network with the imported parameters."""
    network = build_network(model.network, model.vocabulary_size)
    state = {name: torch.from_numpy(array) for name, array in model.state.items()}
    network.load_state_dict(state, assign=True)  # no second copy of the parameters
    return network.eval()


def import_bundle(model: ImportedModel, out_dir: Path, options: ImportOptions) -> Path:
    """Write the bundle of an imported model as ``write_import`` does; it passes the gate of models trained here."""
    return write_import(model, out_dir, options, NetworkOriginal(network_of(model)))
