"""How tests start Java."""

# The first compiler alone: hardly any code of a test is run often enough for the second, which takes half of the CPU.
# Java gives it a cache of 48 MiB for compiled code. The queries of some hundred tests fill that, and Spark ends a JVM
# that has no room left in it; so it gets what both compilers have together.
FIRST_COMPILER = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m"
# For a process that lives for seconds, with a small heap.
QUICK = {"JAVA_TOOL_OPTIONS": f"{FIRST_COMPILER} -XX:+UseSerialGC"}
