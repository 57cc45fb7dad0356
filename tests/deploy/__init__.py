"""Files for operators: images, compose, Prometheus, Grafana, Kubernetes."""
