"""Reference values and keys in CoRIM, the form in which makers publish what evidence should say."""
