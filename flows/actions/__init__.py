"""Actions beside a release: check and explain, review, overrule, sign, audit, and tend the workspace."""
