"""Files for operators: images, compose, Prometheus, Grafana, Kubernetes.

test_kubernetes, test_monitoring and the first half of test_containers only read the files of deploy/: they are checks of
the kind of tests/project, and are here because they take longer than a commit hook should.
"""
