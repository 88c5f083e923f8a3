import type { auth as en } from "../en/auth";
import type { Translated } from "../shape";

export const auth: Translated<typeof en> = {
  title: "登录",
  username: "用户名",
  password: "密码",
  submit: "登录",
  wrong: "用户名或密码不正确。",
  tooMany: "尝试次数过多，请稍候再试。",
  linkHint: "首次启动？请打开服务器在终端中显示的链接，或向管理员申请账户。",
  expiredTitle: "登录已过期",
  expiredText: "请重新登录以继续。您输入的内容已保留。",
  changePassword: "修改密码",
  oldPassword: "当前密码",
  newPassword: "新密码",
  repeatPassword: "再次输入新密码",
  oldWrong: "当前密码不正确。",
  passwordsDiffer: "两次输入的新密码不一致。",
  passwordChanged: "密码已修改。",
  keepKeys: "保留我的 API 密钥",
};
