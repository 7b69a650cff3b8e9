"""Power cuts on recorded disks."""
