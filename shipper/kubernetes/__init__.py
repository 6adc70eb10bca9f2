"""Pods of a Kubernetes cluster, kept up to date from its API server by plain HTTP.

`account.find_access` finds the server and the credentials, `client.Client` asks it, `resource_watch.ResourceWatch`
lists and watches one kind of object, and `watcher.ClusterWatcher` keeps the pods of a node with what belongs to them:

    access = find_access(kube_config)
    watcher = ClusterWatcher(WatchScope(node="n1"), access, clock)
    watcher.listen(lambda change: ...)    # added, changed, deleted; called on a thread of the watcher
    watcher.start()
    watcher.pods.get_by_container("ab12...")  # any thread may ask
    watcher.close()

Imported only where a configuration asks for it.
"""
