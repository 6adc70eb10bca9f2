"""Send dead letters again as their original events.

Guarantee: a letter leaves its file when its event is acknowledged, or rejected again, which makes another letter. With
an output that commits transactions each is sent exactly once, whatever is killed, and when: a transaction has, as the
position of the input, a note of its letters, which counts until the same is noted beside the files
(`letters/letter_box`). With other outputs the letters in flight are sent a second time after a kill, under the same
file id and offset.
"""
