"""SGX-LKL's oblivious interface: a fixed schedule of frames, alike in all but what is sealed in them."""
