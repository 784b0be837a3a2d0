"""The alerts, judged by Prometheus' own tool."""

import re
import subprocess

import yaml
from chart import CHART, HERE, ROOT, Object, one, promtool, render

ALERTS = CHART / "files/alerts.yaml"


def check(*arguments: str) -> None:
    result = subprocess.run([promtool(), *arguments], capture_output=True, text=True, check=False, timeout=60)
    assert result.returncode == 0, result.stdout + result.stderr


def rules() -> list[Object]:
    return [rule for group in yaml.safe_load(ALERTS.read_text())["groups"] for rule in group["rules"]]


def test_prometheus_takes_the_rules() -> None:
    check("check", "rules", str(ALERTS))


def test_alerts_fire_when_they_should_and_not_before() -> None:
    check("test", "rules", str(HERE / "alerts_test.yaml"))


def test_every_alert_is_tested_to_fire() -> None:
    cases = yaml.safe_load((HERE / "alerts_test.yaml").read_text())["tests"]
    fired = {c["alertname"] for test in cases for c in test["alert_rule_test"] if c["exp_alerts"]}
    assert fired == {rule["alert"] for rule in rules()}


def test_alerts_name_only_series_that_the_plugin_has() -> None:
    documented = (ROOT / "docs/metrics.md").read_text()
    for rule in rules():
        for series in re.findall(r"\btessera_\w+", rule["expr"]):
            assert f"| `{series}` |" in documented, series


def test_the_rendered_rules_are_the_tested_ones() -> None:
    rendered = one(render({"prometheusRule": {"enabled": True}}), "PrometheusRule")
    assert rendered["spec"] == yaml.safe_load(ALERTS.read_text())


def test_the_monitor_sets_the_labels_that_the_alerts_go_by() -> None:
    objects = render({"serviceMonitor": {"enabled": True}})
    (endpoint,) = one(objects, "ServiceMonitor")["spec"]["endpoints"]
    assert {r["targetLabel"] for r in endpoint["relabelings"]} == {"job", "node"}
    (job,) = [r["replacement"] for r in endpoint["relabelings"] if r["targetLabel"] == "job"]
    jobs = {job for rule in rules() for job in re.findall(r'job="([^"]*)"', rule["expr"])}
    assert jobs == {job}


def test_the_monitor_selects_the_service_and_the_service_the_pods() -> None:
    objects = render({"serviceMonitor": {"enabled": True}, "selectorLabelsOverride": {"app": "gpu"}})
    service = one(objects, "Service")
    wanted = one(objects, "ServiceMonitor")["spec"]["selector"]["matchLabels"]
    assert wanted.items() <= service["metadata"]["labels"].items()
    labels = one(objects, "DaemonSet")["spec"]["template"]["metadata"]["labels"]
    assert service["spec"]["selector"].items() <= labels.items()
