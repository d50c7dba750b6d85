"""What a watch knows of one queue, and of a suspension."""
