from notify_core.domain.problem import Problem, ProblemCode, field_path, problem


def test_a_place_is_dotted_from_its_parts() -> None:
    assert field_path("data", "lines", 3, "", "number") == "data.lines.3.number"


def test_a_long_place_is_cut_and_lone_surrogates_are_replaced() -> None:
    assert field_path("a" * 300) == "a" * 200
    assert field_path("data", "\ud800") == "data.?"


def test_a_problem_takes_its_place_dotted_or_as_a_path() -> None:
    expected = Problem(field="data.number", code="required", message="name it")
    assert problem("data.number", ProblemCode.REQUIRED, "name it") == expected
    assert problem(("data", "number"), ProblemCode.REQUIRED, "name it") == expected
