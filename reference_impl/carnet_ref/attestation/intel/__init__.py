"""Intel TDX: quotes, the certificates and collateral that vouch for them, and their appraisal."""
