"""A small front for DataAgent servers: for now, which server it talks to and with which key."""

from dataagent_server_demo.settings import BadDemoSettings, DemoSettings, load_settings

__all__ = ["BadDemoSettings", "DemoSettings", "load_settings"]
