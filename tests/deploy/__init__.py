"""Files for operators: images, compose, Prometheus, Grafana, Kubernetes.

test_kubernetes, test_monitoring and the first half of test_containers only read files, as the checks of tests/project
do. They are here because they take longer than a commit hook should.
"""
