"""The WebSocket door: `/ws/chat/{session_id}`."""
