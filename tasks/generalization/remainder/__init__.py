"""Remainder classes: cells less the people released before, so that a cell that misses k by one generalizes no other.

    left ← everybody (distinct tuples with their counts)
    for every cell of every strategy, the most valuable first:
        if the people of the cell who are left may be released together: they become a class; remove them

A class has the label of its cell, and equal labels are one class. A recipient who replays the rule finds the class
itself and not the cell. Levels may cross, and no count of all cells is needed. The problem is a lower-bounded
assignment: each person in one cell, each cell used by nobody or by k people. The rule above finds no optimum of it;
later passes, with what the earlier ones gave each person as its price, come nearer (``find``), and a bound says how far
they may still be from it (``bound``). The work is limited in strategies and tuples, never in seconds, so equal input
gives equal classes.
"""
