"""The lab: simulated nodes served as Solace appliances, with their CLI, over real SSH and over local sockets."""
