"""SGX-LKL's oblivious interface: a fixed schedule of frames that differ only in sealed content."""
