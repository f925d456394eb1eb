"""@name@ keeps the contract of languages."""

from agnostics.testing.suite import contract_test

test_contract = contract_test("@name@")
