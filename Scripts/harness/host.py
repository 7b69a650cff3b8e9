"""A machine on which programs of a trial run."""

import contextlib

from harness.program import LaunchOptions


class Host:
    """This machine, by its loopback address. Other hosts have a network, an address or a clock of their own."""

    address = "127.0.0.1"
    # The address at which brokers reach each other.
    route_address = address

    def __init__(self, launch: LaunchOptions | None = None) -> None:
        self.launch: LaunchOptions = launch or {}

    def inside(self) -> contextlib.AbstractContextManager[None]:
        """What this thread starts and connects in the block, it starts and connects on this host."""
        return contextlib.nullcontext()
