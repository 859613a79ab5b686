"""The ground form of a protocol on an instance: places with their possible values, and steps without variables."""
