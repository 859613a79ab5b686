"""Systems: what each protocol's implementation adds to the parts that all of them share."""
