"""What all trials and checks share: starting Sluice, waiting for it, and asking it questions."""
