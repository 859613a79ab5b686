"""AMD SEV-SNP: attestation reports, the endorsement keys that sign them, and their appraisal."""
