"""Pictures over time, as packed geometry for one viewport: live memory, addresses, reserved memory."""
