"""A real Kubernetes cluster on one Linux machine, boxed in namespaces. Start reading at lifecycle.py."""
