// SLS
