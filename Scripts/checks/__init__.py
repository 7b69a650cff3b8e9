"""Checks of a running gateway with other people's tools: promtool, schemathesis, testssl.sh."""
