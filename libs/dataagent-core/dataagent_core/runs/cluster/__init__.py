"""What connects the processes of an installation: messages, leases and the queue of runs."""
