"""How useful what is released still is: information kept, clusters and classifiers that agree."""
