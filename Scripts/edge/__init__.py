"""Hostile and slow clients, directly and through the proxies that are in front of gateways."""
