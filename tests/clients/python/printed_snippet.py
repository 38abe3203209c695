from agentic_sandbox_client import SandboxClient

client = SandboxClient()
sandbox = client.create_sandbox(name="my-sandbox", image="python:3.11")
result = sandbox.execute("python -c 'print(\"Hello\")'")
sandbox.delete()
