"""Three gateways of one cluster under load, while their parts are broken."""
