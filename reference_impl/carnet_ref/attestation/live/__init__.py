"""Evidence that is collected on the machine itself: GPUs by NVML, the virtual machine by configfs-tsm."""
