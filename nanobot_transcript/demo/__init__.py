"""The demo: two real bots in a simulated group, one record, a scene, and then the keyboard.

``run`` puts it together; ``world`` holds what runs, with ``hosts`` that can run the bots; ``scene`` is the script,
``mind`` stands in for a model, ``turns`` tells who answers what, ``screen`` shows it, ``keyboard`` and ``free_talk``
let the person go on.
"""
