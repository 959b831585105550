"""An OpenAI-compatible endpoint, which several sections can name."""

from typing import Annotated, Any

from pydantic import SecretStr

from nanobot_transcript.settings.base import Address, Name, Section, Traits, setting

__all__ = ["EndpointSettings"]


class EndpointSettings(Section):
    """Where a model is and what it is called; what ``kind`` may be besides ``openai``, each section says itself."""

    kind: Any = setting("openai", "What is asked.", "询问的对象。")
    model: Annotated[Name | None, Traits(needed=True)] = setting(
        None, "Model of the endpoint.", "模型接口所用的模型。", example="gpt-5-mini"
    )
    base_url: Address | None = setting(
        None, "Address of the endpoint; null means OpenAI's own.", "模型接口的地址；null 表示 OpenAI 官方地址。"
    )
    api_key: SecretStr | None = setting(
        None,
        "API key of the endpoint; write ${NAME} rather than the key itself.",
        "模型接口的密钥；建议写成 ${NAME}，不要直接写明文。",
        example="${OPENAI_API_KEY}",
    )

    @property
    def secret(self) -> str | None:
        """The key itself."""
        return None if self.api_key is None else self.api_key.get_secret_value()
