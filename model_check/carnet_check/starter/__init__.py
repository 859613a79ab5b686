"""What ``carnet init`` begins a protocol of one's own with: files that work as they stand, to be changed in steps."""
