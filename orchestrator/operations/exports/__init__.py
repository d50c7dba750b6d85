"""Messages of sites as exports: read from devices, resumed, compared."""
