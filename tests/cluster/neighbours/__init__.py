"""Stand-ins for what else may live on a node: the Go driver, another vendor's device plugin. They serve the real kubelet."""
