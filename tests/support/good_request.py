"""A small valid request."""

GOOD = """\
schema_version: releasegate/request/1
title: Discharges of a clinic
requested_by: a.steward
dataset:
  path: data.csv
  title: Discharges
  source: the clinic's own register
  record_id: record_id
attributes:
  record_id: {role: direct identifier}
  age:
    role: quasi-identifier
    type: integer
    hierarchy:
      intervals: {minimum: 0, maximum: 99, widths: [5, 10]}
  zip:
    role: quasi-identifier
    hierarchy:
      prefixes: {keep: [4, 3]}
  ward:
    role: quasi-identifier
    hierarchy:
      groups:
        levels: [{surgical: [A, B], medical: [C]}]
  diagnosis:
    role: sensitive
    allowed_values: [flu, burn]
    sensitivity: {values: {flu: 0.1}}
  stay:
    role: insensitive
    type: number
    minimum: 0
    maximum: 60
population:
  path: population.csv
  source: the census
recipients:
  - id: university
    organisation: University
    purpose: research
    agreement: {id: A-1, expires: 2030-01-01}
    stakes: {benefit: 1200, loss: 300, cost: 4}
  - id: insurer
    organisation: Insurer
    purpose: tariffs
    agreement: {id: A-2, expires: 2031-12-31}
    stakes: {benefit: 100, loss: 900.5, cost: 0.5}
policy:
  id: house-rules
  version: "3"
  presence: unknown
  gates:
    - {measure: transparent.maximum_risk, at_most: 0.09, because: EMA Policy 0070}
"""
