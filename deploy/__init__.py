"""Programs and files for operators: images, compose, Prometheus, Grafana, Kubernetes, Ray, audits."""
