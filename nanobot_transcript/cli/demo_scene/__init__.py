"""The demo: two real nanobot gateways in a simulated group, one record, a scene, and then the keyboard.

``run`` puts it together; ``world`` holds what runs, ``scene`` is the script, ``mind`` stands in for a model, ``screen``
shows it, ``keyboard`` and ``talking`` let the person go on.
"""
