from log_shipper.config.yaml.errors import ConfigError, Place, Problem


def test_a_problem_reads_as_file_line_path_and_message() -> None:
    assert str(Problem("a.yml", 12, "output.kafka.hosts", "missing")) == "a.yml:12: output.kafka.hosts: missing"


def test_a_problem_without_a_line_or_a_path_leaves_them_out() -> None:
    assert str(Problem("-E", 0, "name", "missing")) == "-E: name: missing"
    assert str(Problem("a.yml", 3, "", "is not YAML")) == "a.yml:3: is not YAML"


def test_an_error_is_one_line_a_problem_and_keeps_the_problems() -> None:
    problems = (Problem("a.yml", 1, "x", "one"), Problem("a.yml", 2, "y", "two"))
    error = ConfigError(problems)
    assert str(error) == "a.yml:1: x: one\na.yml:2: y: two"
    assert error.problems == problems


def test_a_place_without_a_line_is_its_file() -> None:
    assert (str(Place("a.yml", 7)), str(Place("-E"))) == ("a.yml:7", "-E")
