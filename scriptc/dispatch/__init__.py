"""Find the variant that fits a call, or have one compiled; the bridge calls it."""
