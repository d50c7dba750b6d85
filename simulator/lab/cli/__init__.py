"""The CLI of a simulated Solace appliance."""
