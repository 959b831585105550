"""What ``doctor`` looks at, one module per subject."""
