"""The parts of the proof. `proof/__main__.py` names the module of each part."""
