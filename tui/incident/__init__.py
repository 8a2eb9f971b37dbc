"""An incident: what was asked, pasted, answered and tried, kept so that nothing is lost; without a screen."""
